"""A release as one printable page for people who decide: lawyers, engineers, officers."""
