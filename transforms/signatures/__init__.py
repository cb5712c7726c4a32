"""Signatures of requests, by which sites recognise the robot (Web Bot Auth): keys, messages, and who asks for one."""
