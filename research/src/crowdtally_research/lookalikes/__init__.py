"""Made-up records with the statistics that papers print of theirs."""
