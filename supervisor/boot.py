"""The one module that knows everyone: settings become devices, devices become a daemon."""
