"""One look for every page: templates, style, charts and numbers; it knows nothing of releases."""
