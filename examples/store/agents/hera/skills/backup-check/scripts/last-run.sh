#!/bin/sh
# Newest snapshot: time, duration and size, one line.
set -eu
restic snapshots --latest 1 --json | jq -r '.[0] | "\(.time) \(.summary.total_duration)s \(.summary.data_added) bytes"'
