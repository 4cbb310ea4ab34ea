"""Pure functions on arrays: intervals, paired tests, power, multiplicity. No I/O."""
