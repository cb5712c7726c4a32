"""Rendering: a downloader that has Chromium run the scripts of pages."""
