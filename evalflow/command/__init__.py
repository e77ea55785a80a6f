"""What the command line can do, a file each."""
