"""Who may call: tokens, the keys that sign calls, and all data of a tenant."""
