"""Steps between rounds that merge, rebuild or remove what earlier steps wrote."""
