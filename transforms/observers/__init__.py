"""Observers: plug-ins that see each new document and write alerts."""
