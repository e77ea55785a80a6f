"""Seats whose server evalflow starts and ends itself, with the arm."""
