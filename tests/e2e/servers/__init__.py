"""The programs of a whole cluster, built from the Go modules that this folder pins."""
