"""Measuring what soft similarity brings: data sets, systems, measures, significance, tuning."""
