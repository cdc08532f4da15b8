"""A session: one cycle's view of the cluster, the compiled extension points, and statements."""
