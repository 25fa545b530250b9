"""Value objects: frozen, validated where they are made."""
