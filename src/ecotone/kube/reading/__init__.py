"""What is read from an API server: lists once (`listing`, `app_groups`), or a mirror that is kept (`reflector`, `watching`)."""
