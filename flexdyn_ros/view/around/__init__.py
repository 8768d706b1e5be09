"""What is around a robot in the picture: ground, sky, light, shadow, and where one looks from."""
