"""The command line where its script is not on the path: `python -m kinfolk --help`."""

from kinfolk.cli import main

if __name__ == "__main__":
    main()
