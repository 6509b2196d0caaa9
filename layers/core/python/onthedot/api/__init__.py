"""The REST API as a function from a request to a response; it knows neither Lambda nor any engine."""
