"""Each kind of reference case, answered by the product's own functions: no arithmetic of its own."""
