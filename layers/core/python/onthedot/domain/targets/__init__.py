"""The targets that jobs can call: their values, the allow-list, signatures and the redaction of secrets."""
