"""The performer of gRPC targets. Nothing outside this folder imports the grpc packages, which are an extra."""
