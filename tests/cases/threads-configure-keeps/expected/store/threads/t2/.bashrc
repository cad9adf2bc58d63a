half
