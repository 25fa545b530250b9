"""Work in processes of its own, each with its share of the machine."""
