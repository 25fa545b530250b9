"""A release as a folder of plain pages, for any web server or none."""
