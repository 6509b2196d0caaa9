"""Code that all calls share: requests and responses, routes, errors, bodies, times and the OpenAPI document."""
