"""An agent for Harbor."""
