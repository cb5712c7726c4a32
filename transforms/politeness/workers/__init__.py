"""Files and reports that a worker of a fetch step writes while the step runs."""
