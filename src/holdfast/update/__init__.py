"""Update."""
