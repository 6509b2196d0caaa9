"""The modules that build engines, performers and work sources.

Only these modules know which engine implements the ports.

`aws` wires the engine of each Lambda function, `sqlite` the embedded engine, `workers` the parts of a worker.
"""
