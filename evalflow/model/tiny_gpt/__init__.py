"""The embedded model: a character-level GPT, small enough to ship and to train in a minute."""
