"""The REST API as a function from a request to a response. It knows neither Lambda nor any engine.

`core` serves all calls. Each other folder is one resource. It holds, where it needs them: `fields` (pydantic models of
requests), `requests` (read bodies into the values that use cases take), `views` (types of answers), `show` (pure
functions from domain values to views) and `routes` (read the request, call use cases, show the answer).
"""
