"""What happens on a party's own machine."""
