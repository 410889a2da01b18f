"""`python -m codetrail_local` is the command `codetrail`, where the script's folder is not on the path."""

from codetrail_local.cli import main

main()
