"""A cluster played forward, as sentences, charts and rows."""
