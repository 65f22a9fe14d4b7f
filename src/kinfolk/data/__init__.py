"""Tables in and out: reading, checking, encoding, decoding, simulating."""
