"""Pictures of a comparison: Vega-Lite specifications, rendered to SVG without a browser."""
