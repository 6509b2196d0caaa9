from tests.mutants.mutants import problems, read_list


def test_each_mutant_fits_the_product_and_its_tests_exist() -> None:
    assert list(problems(*read_list())) == []
