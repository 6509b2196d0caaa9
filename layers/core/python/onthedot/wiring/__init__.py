"""The composition roots: the only modules that know which engine implements the ports.

`aws` wires the engine of each Lambda function, `sqlite` the embedded engine, `workers` the parts of a worker.
"""
