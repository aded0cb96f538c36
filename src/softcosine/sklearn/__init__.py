"""Estimators of scikit-learn that work in the soft vector space."""
