"""The papers' methods that Crowdtally is compared with: never a default, never released by it."""
