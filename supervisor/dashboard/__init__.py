"""The dashboard: pages for a browser, served by the daemon. They read and steer as the API does."""
