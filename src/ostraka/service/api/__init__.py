"""The service over HTTP: `/v1/...`, described by `/v1/openapi.json`.

module     what
app        the application: what is started with it, and which routes it has
door       who asks, and how often: tokens, limits
problems   errors as application/problem+json, with the library's own words
bodies     how many bytes are read, and from whom
shapes     what goes in and out as JSON
pages      long lists, some of many at a time
uploads    contributions: the one route that must be fast
polls, parties, accounts, health   the other routes
watching   logs and metrics
"""
