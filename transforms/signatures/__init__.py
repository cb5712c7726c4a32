"""Signatures of requests, by which sites recognize the robot (Web Bot Auth): keys, messages, and who asks for one."""
