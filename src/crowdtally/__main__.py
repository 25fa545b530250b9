"""``python -m crowdtally``."""

from crowdtally.cli import main

if __name__ == "__main__":
    main()
