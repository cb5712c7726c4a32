"""Rendering: a downloader that runs the scripts of pages in Chromium."""
