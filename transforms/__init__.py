"""How a step works: pure functions, and the PTransforms that wire them."""
