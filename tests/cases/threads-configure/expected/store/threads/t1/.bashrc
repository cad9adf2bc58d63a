# Set up by haversack. The thread's own Python environment, once there is one.
if [ -f /.venv/bin/activate ]; then
    . /.venv/bin/activate
fi
