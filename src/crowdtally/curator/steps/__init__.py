"""The steps of a release: each bounds, counts and adds noise, and may read what is released."""
