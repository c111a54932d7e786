"""How a publication is read: bytes in, frozen values out. Pure."""
