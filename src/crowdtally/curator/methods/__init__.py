"""Methods: each asks questions and sees only noisy answers. None reaches records or draws."""
